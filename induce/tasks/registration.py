"""Registration of the tasks: their models, loaders and presets, as a package from outside would add them."""

from __future__ import annotations

from dataclasses import replace

ENCODERS = {  # of expressions
    "ordered-memory": "sequences:MemoryEncoder",
    "lstm": "sequences:LstmEncoder",
    "onlstm": "sequences:OnLstmEncoder",
    "transformer": "sequences:TransformerEncoder",
    "tree-lstm": "trees:TreeLstm",
    "tree-rnn": "trees:TreeRnn",
    "tree-cell": "trees:TreeCell",
    "gumbel-tree-lstm": "gumbel_tree_lstm:GumbelTreeLstm",
    "crvnn": "crvnn:Crvnn",
    "rl-spinn": "rl_spinn:RlSpinn",
}
POLICIES = {  # models that choose actions
    "ocn": "ocn:OptionController",
    "moe": "ocn:MixtureOfExperts",
    "ompn": "baselines:OrderedMemoryPolicy",
    "compile": "baselines:Compile",
}
PAIR_MODELS = {  # language models as encoders of sentences, which may be pretrained
    "udgn": "models:UdgnPairs",
    "structformer": "models:StructFormerPairs",
    "transformer": "models:TransformerPairs",
}


def add_tasks() -> None:
    """Add the tasks and all that they need to the registry."""
    # imported here because the registry calls this function at the end of its own import
    from induce.registry import LOADERS, MODELS, PRESET_PACKAGES, PURPOSES, LoaderEntry, ModelEntry, PurposeEntry
    from treebank.base.arguments import Registry

    def models(folder: str, locations: dict[str, str]) -> dict[str, ModelEntry]:
        return {name: ModelEntry(f"induce.tasks.{folder}.{location}") for name, location in locations.items()}

    expressions = PurposeEntry(
        "induce.tasks.listops:ListOps",
        preset="listops-small",
        models=Registry("model of expressions", models("encoders", ENCODERS)),
        examples="induce.tasks.examples:load_examples",
        score="induce.tasks.accuracy:score_task",
        wrapper="induce.tasks.encoders.base:Classifier",
    )
    PURPOSES.add("listops", expressions)
    PURPOSES.add("nli", replace(expressions, location="induce.tasks.nli:Nli", preset="nli-small"))
    PURPOSES.add("logic", replace(expressions, location="induce.tasks.logic:Logic", preset="logic-small"))
    PURPOSES.add(
        "craft",
        PurposeEntry(
            "induce.tasks.craft.demonstrations:Craft",
            preset="craft-small",
            models=Registry("policy", models("craft", POLICIES)),
            examples="induce.tasks.craft.demonstrations:load_demonstrations",
            score="induce.tasks.craft.policy_scores:score_craft",
            parser="induce.tasks.craft.ocn:TrajectoryParser",
        ),
    )
    encoders = {name: expressions.models.get(name) for name in ("gumbel-tree-lstm", "crvnn")}
    PURPOSES.add(
        "similarity",
        PurposeEntry(
            "induce.tasks.similarity.pairs:Similarity",
            preset="similarity-small",
            models=Registry("sentence encoder", {**models("similarity", PAIR_MODELS), **encoders}),
            examples="induce.tasks.similarity.pairs:load_pairs",
            score="induce.tasks.similarity.rating_correlation:score_similarity",
            wrapper="induce.tasks.similarity.models:EncoderPairs",
            settle="induce.tasks.similarity.pairs:settle",
        ),
    )
    LOADERS.add("expressions", LoaderEntry("induce.tasks.examples:ExpressionLoader"))
    LOADERS.add("pairs", LoaderEntry("induce.tasks.similarity.pairs:PairLoader"))
    LOADERS.add("demonstrations", LoaderEntry("induce.tasks.craft.demonstrations:DemonstrationLoader"))
    MODELS.add("ocn", ModelEntry("induce.tasks.craft.ocn:OptionWords"))
    PRESET_PACKAGES.append("induce.tasks")
