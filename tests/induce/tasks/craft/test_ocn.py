"""The Option-Controller Network: equations, the discrete program of calls, gradients, mixture of experts, words."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.structures import Distances
from induce.tasks.craft.ocn import FIRST, MixtureOfExperts, OptionController, OptionWords, OptionWordsConfig, actions_of
from tests.support.demonstrations import (
    ACTIONS,
    CONFIG,
    assert_gradients_equal_finite_differences,
    batch,
    observations_and_tasks,
)


def make(kind: type[OptionController] = OptionController, *, seed: int = 0, **changes: float) -> OptionController:
    torch.manual_seed(seed)
    model = kind(replace(CONFIG, **changes), FIRST + ACTIONS).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def set_ends(model: OptionController, score: float) -> None:
    """Make the options predict an end with the score ``score`` for all observations."""
    with torch.no_grad():
        model.options.outer[..., -1] = 0
        model.options.outer_bias[..., -1] = score


class PlainCell:
    """One cell, written as in equations 5.2.3 to 5.2.6."""

    def __init__(self, model: OptionController, name: str, index: int) -> None:
        cells = getattr(model, name)
        self.w = {name: value[index] for name, value in cells.named_parameters()}
        self.actions = cells.sizes[2]

    def __call__(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = torch.cat((self.w["observed"], self.w["remembered"]))
        first = torch.tanh(torch.cat((x, h)) @ weights + self.w["observed_bias"][0])
        inner = torch.tanh(first @ self.w["inner"] + self.w["inner_bias"][0])
        act, hid, end = (inner @ self.w["outer"] + self.w["outer_bias"][0]).split((self.actions, len(h), 1))
        return act, torch.tanh(hid), torch.sigmoid(end[0])


def plain_run(model: OptionController, x: Tensor, task: int) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Equations 5.2.8 to 5.2.17 for one demonstration, option by option."""
    count = model.config.options
    controller = PlainCell(model, "controller", 0)
    options = [PlainCell(model, "options", i) for i in range(count)]
    start = [model.first_option_state[i, 0] for i in range(count)]
    h_c = model.first_controller_state[task]
    p_c = torch.zeros(count, dtype=x.dtype)
    h_o = start
    actions, ends, choices = [], [], []
    for t in range(len(x)):
        scores, new_h_c, _ = controller(x[t], h_c)
        new_p_c = torch.softmax(scores / model.config.temperature, -1)
        called = [options[i](x[t], start[i]) for i in range(count)]
        new_p_a = sum(new_p_c[i] * torch.softmax(called[i][0], -1) for i in range(count))
        if t == 0:
            e = torch.ones((), dtype=x.dtype)
            p_a, h_c, p_c, h_o = new_p_a, new_h_c, new_p_c, [output[1] for output in called]
        else:
            going_on = [options[i](x[t], h_o[i]) for i in range(count)]
            e = sum(p_c[i] * going_on[i][2] for i in range(count))
            old_p_a = sum(p_c[i] * torch.softmax(going_on[i][0], -1) for i in range(count))
            p_a = e * new_p_a + (1 - e) * old_p_a
            h_c, p_c = e * new_h_c + (1 - e) * h_c, e * new_p_c + (1 - e) * p_c
            h_o = [e * called[i][1] + (1 - e) * going_on[i][1] for i in range(count)]
        actions.append(p_a)
        ends.append(e)
        choices.append(p_c)
    return actions, ends, choices


def test_network_equals_the_equations() -> None:
    model = make()
    observations, tasks = observations_and_tasks()
    trace = model.run(observations, tasks)
    for row in range(len(tasks)):
        for computed, expected in zip(trace, plain_run(model, observations[row], int(tasks[row])), strict=True):
            torch.testing.assert_close(computed[row], torch.stack(expected))


def test_steps_one_by_one_equal_all_steps_at_once() -> None:
    model = make()
    observations, tasks = observations_and_tasks()
    trace, state = model.run(observations, tasks), model.start(tasks)
    for time in range(observations.shape[1]):
        actions, end, state = model.act(observations[:, time], state, first=time == 0)
        torch.testing.assert_close(actions, trace.actions[:, time])
        torch.testing.assert_close(end, trace.end[:, time])
        torch.testing.assert_close(state.choice, trace.choice[:, time])


def test_end_at_each_step_makes_a_mixture_of_experts() -> None:
    model = make()
    observations, tasks = observations_and_tasks()
    experts = make(MixtureOfExperts)
    experts.load_state_dict(model.state_dict())
    set_ends(model, 1e4)
    trace, mixture = model.run(observations, tasks), experts.run(observations, tasks)
    for part, other in zip(trace, mixture, strict=True):
        torch.testing.assert_close(part, other)
    options = [PlainCell(model, "options", i) for i in range(3)]
    for time in range(observations.shape[1]):  # every option starts from its initial state
        fresh = [options[i](observations[0, time], model.first_option_state[i, 0])[0].softmax(-1) for i in range(3)]
        expected = sum(trace.choice[0, time, i] * fresh[i] for i in range(3))
        torch.testing.assert_close(trace.actions[0, time], expected)


def interpret(model: OptionController, x: Tensor, task: int) -> list[tuple[int, int, bool]]:
    """The program of calls: the active option, its action, and whether it was called, at each step."""
    controller = PlainCell(model, "controller", 0)
    options = [PlainCell(model, "options", i) for i in range(model.config.options)]
    memory, program = model.first_controller_state[task], []
    at_work, local, fresh = -1, torch.zeros(0), True
    for step in x:
        if at_work >= 0:
            scores, after, end = options[at_work](step, local)
            fresh = bool(end > 0.5)
        if fresh:
            chosen, memory, _ = controller(step, memory)
            at_work = int(chosen.argmax())
            scores, after, _ = options[at_work](step, model.first_option_state[at_work, 0])
        local = after
        program.append((at_work, int(scores.argmax()), fresh))
    return program


@pytest.mark.parametrize("seed", range(4))
def test_hard_choices_equal_calls_of_options(seed: int) -> None:
    model = make(seed=seed)
    with torch.no_grad():
        model.controller.outer[..., :3] *= 1e5
        model.options.outer[..., -1] *= 1e5
        model.options.outer_bias[..., -1] = 0
    observations, tasks = observations_and_tasks(12, 4)
    trace = model.run(observations, tasks)
    calls = 0
    for row in range(4):
        program = interpret(model, observations[row], int(tasks[row]))
        assert trace.choice[row].argmax(-1).tolist() == [option for option, _, _ in program]
        assert trace.actions[row].argmax(-1).tolist() == [action for _, action, _ in program]
        assert trace.end[row].round().tolist() == [float(called) for _, _, called in program]
        calls += sum(called for _, _, called in program)
    assert 4 < calls < 48  # some options continue, some return


def test_high_temperature_makes_a_uniform_choice() -> None:
    choice = make(temperature=1e6).run(*observations_and_tasks()).choice
    torch.testing.assert_close(choice, torch.full_like(choice, 1 / 3), atol=1e-5, rtol=0)
    assert make(temperature=0.1).run(*observations_and_tasks()).choice.max() > 0.9


@pytest.mark.parametrize("kind", [OptionController, MixtureOfExperts])
def test_gradients_equal_finite_differences(kind: type[OptionController]) -> None:
    assert_gradients_equal_finite_differences(make(kind))


def test_loss_does_not_depend_on_padding() -> None:
    model, demonstrations = make(), batch()
    loss = model.loss(demonstrations)
    assert loss.count == 12
    trace = model.run(demonstrations.observations, demonstrations.sketches)
    expected, correct = [], 0
    for row, length in enumerate(demonstrations.lengths.tolist()):
        for time in range(length):
            action = int(demonstrations.tokens[row, time]) - FIRST
            expected.append(-trace.actions[row, time, action].log())
            correct += int(trace.actions[row, time].argmax() == action)
    torch.testing.assert_close(loss.nll, torch.stack(expected).mean())
    assert loss.correct == correct
    alone = [model.loss(part) for part in demonstrations.parts(3)]
    torch.testing.assert_close(loss.nll, sum(part.nll * part.count for part in alone) / 12)


def test_distance_is_the_probability_of_an_end() -> None:
    model, demonstrations = make(), batch()
    gaps = model.structure(demonstrations, Query(Distances)).rows()
    assert [len(row) for row in gaps] == [6, 4, 2]
    assert gaps[0] == model.run(demonstrations.observations, demonstrations.sketches).end[0].tolist()


WORDS = 7


def words_model() -> OptionWords:
    torch.manual_seed(3)
    config = OptionWordsConfig(embedding_size=4, hidden_size=5, inner_size=6, options=3, temperature=1.0, dropout=0.0)
    model = OptionWords(config, WORDS).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return model


def words_batch() -> SentenceBatch:
    return SentenceBatch(torch.tensor([[2, 3, 4, 5], [6, 2, 0, 0]]), torch.tensor([4, 2]))


@torch.no_grad()
def test_next_words_are_the_actions_of_the_program() -> None:
    """The scores of each option are computed one by one and mixed like actions of Craft."""
    model, sentences = words_model(), words_batch()
    before = functional.pad(sentences.tokens, (1, 0))
    move, called, _ = model.moves(model.embedding(before), torch.zeros(2, dtype=torch.long))
    scored = [vectors @ model.embedding.weight.t() + model.bias for vectors in (move.scores, called)]
    words = actions_of(move._replace(scores=scored[0]), scored[1]).transpose(0, 1)  # (B, S, V)
    torch.testing.assert_close(words.sum(-1), torch.ones_like(words[..., 0]))
    logs = words.log()
    expected = [[(0, 2), (1, 3), (2, 4), (3, 5), (4, 0)], [(0, 6), (1, 2), (2, 0)]]
    scores = model.word_log_probabilities(sentences)
    for row, steps in enumerate(expected):
        torch.testing.assert_close(
            scores[row, : len(steps)], torch.stack([logs[row, step, word] for step, word in steps])
        )
    assert not scores[1, 3:].any()
    loss = model.loss(sentences)
    assert loss.count == 8
    torch.testing.assert_close(loss.nll, -scores.sum() / 8)


@torch.no_grad()
def test_distance_does_not_depend_on_later_words() -> None:
    model, sentences = words_model(), words_batch()
    rows = model.structure(sentences, Query(Distances)).rows()
    assert [len(row) for row in rows] == [4, 2]
    assert rows[0][0] == 1
    other = SentenceBatch(torch.tensor([[2, 3, 6, 6]]), torch.tensor([4]))
    changed = model.structure(other, Query(Distances)).rows()[0]
    assert changed[:3] == rows[0][:3]  # gaps up to the third word depend on the first two words
    assert changed[3] != rows[0][3]
