"""Parser of a trained model whose distances are read from its hidden states, its attention or masked words."""

from __future__ import annotations

from induce.data.batches import SentenceBatch
from induce.parsing.model_parser import ModelParser
from induce.settings.run import kind_of
from induce.states.model_states import source_of_model, structure_of_states
from induce.states.state_trees import IMPACT, StateSource
from induce.structures import Distances, Impact, Structure
from treebank.base.errors import SynparseError


class StateParser(ModelParser):
    """Parser that applies a decoder to the distances of a `StateSource`."""

    source: StateSource
    default_decoder = ""  # that of the settings reads another structure

    def choose_layer(self, layer: int | None) -> None:
        """Set the source of the distances. Raises SynparseError if the model does not have it."""
        config = self.checkpoint.config
        if self.distances == "syd":
            problem = f"model {self.name!r} has no distances {self.distances!r}: it does not learn from trees"
            raise SynparseError(problem)
        if config.task_name:
            raise SynparseError(f"model {self.name!r} has no distances {self.distances!r}: it has learned a task")
        self.source = source_of_model(self.name, kind_of(config), config.model, self.distances, layer)
        self.layer = self.source.layer
        self.gives = (Impact,) if self.source.measure == IMPACT else (Distances,)

    @property
    def source_parts(self) -> list[str]:
        return [*([f"layer:{self.layer}"] if self.layer else []), f"distances:{self.distances}"]

    @property
    def max_length(self) -> int:
        return self.source.max_length

    def structure_of(self, batch: SentenceBatch, trees: int = 1) -> Structure:
        return structure_of_states(self.model, batch, self.source)
