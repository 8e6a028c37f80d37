"""``synparse combine``, and the commands that accept an ensemble as a model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from induce.ensemble.ensemble_description import EnsembleDescription
from tests.support.calls import Caller


def gold(folder: Path) -> str:
    """A treebank of two sentences."""
    path = folder / "gold.ptb"
    path.write_text("(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n" * 2, encoding="utf-8")
    return str(path)


def test_ensemble_is_used_like_a_model(call: Caller, model: Path, tmp_path: Path) -> None:
    vote = tmp_path / "vote"
    out = call.result("combine", f"first={model}@layer=1", f"{model}@layer=2", "baseline:right@weight=3", "-o", vote)
    assert out.splitlines()[-1] == f"{vote}: 3 members vote for trees, decoder mbr"
    text = tmp_path / "text.txt"
    text.write_text("The dog saw a cat .\n\nA man\n", encoding="utf-8")
    right = "(X (W The) (X (W dog) (X (W saw) (X (W a) (W cat)))) (W .))"
    assert call.result("parse", text, "-m", vote).splitlines() == [right, "", "(X (W A) (W man))"]
    first = json.loads(call.result("extract", text, "-m", vote).splitlines()[0])
    assert first["indices"] == [0, 1, 2, 3, 4]
    assert first["span_scores"][3][5] >= 0.6
    lines = tmp_path / "lines.jsonl"
    call.result("extract", text, "-m", vote, "-o", lines)
    assert call.result("decode", lines) == call.result("parse", text, "-m", vote)
    assert "ensemble" in call.result("eval", "--gold", gold(tmp_path), "-m", vote)
    summary = call.result("info", "-m", vote)
    assert "3 members, which vote for trees" in summary
    assert "baseline:right@weight=3" in summary


def test_quoted_pattern_means_all_members_that_match(call: Caller, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.trees").write_text("(the (dog saw))\n", encoding="utf-8")
    pattern, single = f"{tmp_path}/*.trees@weight=2", f"{tmp_path}/a.trees"
    lines = call.result("combine", pattern, single, single, "-o", tmp_path / "vote").splitlines()
    assert [Path(line).name for line in lines[:4]] == ["a.trees@weight=2", "b.trees@weight=2", "a.trees", "a.trees"]
    assert "4 members vote for trees" in lines[4]
    assert "matches this pattern" in call.refusal("combine", f"{tmp_path}/*.conllu", "-o", tmp_path / "none")


def test_copied_models_and_the_built_in_one_vote(call: Caller, model: Path, tmp_path: Path) -> None:
    vote, copied, text = (tmp_path / name for name in ("vote.safetensors", "small.safetensors", "text.txt"))
    text.write_text("The dog saw a cat .\n", encoding="utf-8")
    copied.write_bytes((model / "model.safetensors").read_bytes())
    call.result("combine", f"{copied}@layer=1,weight=3", "english-grammar", "-o", vote)
    assert call.result("parse", text, "-m", vote) == call.result("parse", text, "-m", f"{model}@layer=1")
    assert "PPL" in call.result("perplexity", text, "-m", vote)
    copied.write_bytes(b"(X no model)")  # the ensemble has a copy
    assert call.result("parse", text, "-m", vote)


def test_trees_vote_among_heads(call: Caller, tmp_path: Path) -> None:
    """Both other words depend on the first one. In (the (dog saw)), one of them depends on the other."""
    heads, trees, vote, text = (tmp_path / name for name in ("heads.conllu", "trees.txt", "vote", "text.txt"))
    rows = ((1, "the", 0), (2, "dog", 1), (3, "saw", 1))
    row = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    heads.write_text("".join(row.format(*head_indices) for head_indices in rows) + "\n", encoding="utf-8")
    trees.write_text("(the (dog saw))\n", encoding="utf-8")
    text.write_text("the dog saw\n", encoding="utf-8")
    summary = call.result("combine", heads, f"{trees}@weight=3", "--heads", "-o", vote)
    assert summary.splitlines()[-1].endswith("2 members vote for heads, decoder mbr-heads")
    usage = call.refusal("combine", heads, "--threshold", 0.5, "-o", tmp_path / "other", code=2)
    assert usage.startswith("a threshold is for trees: ")
    head_column = [
        line.split("\t")[6] for line in call.result("parse", text, "-m", vote).splitlines() if line[:1].isdigit()
    ]
    assert head_column == ["0", "1", "2"]
    described = call.result("info", "-m", vote)
    assert "2 members, which vote for heads" in described
    assert "heads: content words" not in described
    replace(EnsembleDescription.read(vote), head_style="content").write(vote)
    assert "heads: content words" in call.result("info", "-m", vote)
    assert "none of these members gives heads" in call.refusal("combine", trees, "--heads", "-o", tmp_path / "no")


def test_decoder_of_an_ensemble_may_have_an_option_and_must_be_known(call: Caller, tmp_path: Path) -> None:
    heads = tmp_path / "heads.conllu"
    row = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    heads.write_text(row.format(1, "the", 2) + row.format(2, "dog", 0) + "\n", encoding="utf-8")
    call.result("combine", heads, "--decoder", "eisner:root=counted", "-o", tmp_path / "vote")
    assert "decoder eisner:root=counted" in call.result("info", "-m", tmp_path / "vote")
    for decoder in ("eisnr", " "):
        assert "there is no decoder" in call.usage("combine", heads, "--decoder", decoder, "-o", tmp_path / "other")


def test_unsuitable_calls_of_ensembles_are_refused(call: Caller, model: Path, tmp_path: Path) -> None:
    vote, file = tmp_path / "vote", tmp_path / "m.safetensors"
    file.write_text("mine")
    assert "no such model or file" in call.refusal("combine", tmp_path / "nothing", "-o", vote)
    assert "only a model has layer" in call.refusal("combine", "baseline:right@layer=1", "-o", vote)
    assert "this folder holds a trained model" in call.refusal("combine", model, "-o", model)
    call.result("combine", model, "-o", vote)
    assert "--overwrite" in call.refusal("combine", model, "-o", vote)
    call.result("combine", model, "-o", vote, "--overwrite")
    assert "not a model, so it is not overwritten" in call.refusal("combine", vote, "-o", file, "--overwrite")
    call.result("combine", vote, "-o", tmp_path / "copy.safetensors")
    assert (tmp_path / "copy.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert "cannot be written to standard output" in call.refusal("combine", model, "-o", "-", code=2)
    text = tmp_path / "text.txt"
    text.write_text("a b\n", encoding="utf-8")
    assert "has no layers" in call.refusal("parse", text, "-m", f"{vote}@layer=1")
    assert "gives span_scores" in call.refusal("parse", text, "-m", vote, "--decoder", "eisner", code=2)
    assert "PPL" in call.result("perplexity", text, "-m", vote)  # that of the models in it


def test_signature_identifies_members_weights_and_votes(call: Caller, model: Path, tmp_path: Path) -> None:
    treebank, parts = gold(tmp_path), set()
    for number, weight in enumerate((1, 2, 1)):
        vote = tmp_path / f"vote-{number}"
        call.result("combine", model, f"baseline:right@weight={weight}", "-o", vote)
        (score,) = call.json("eval", "--gold", treebank, "-m", vote)["scores"]
        parts.add(score["parser"]["members"])
        assert f"|members:{score['parser']['members']}|" in score["signature"]
    assert len(parts) == 2


def test_repeated_sentences_with_other_trees_are_noted(call: Caller, tmp_path: Path) -> None:
    trees, text, vote = (tmp_path / name for name in ("a.trees", "text.txt", "vote"))
    trees.write_text("(the (dog saw))\n((the dog) saw)\n(the (dog saw))\n", encoding="utf-8")
    text.write_text("the dog saw\n" * 3, encoding="utf-8")
    call.result("combine", trees, "-o", vote)
    _, out, err = call("parse", text, "-m", vote)
    assert out.splitlines() == ["(X (W the) (X (W dog) (W saw)))"] * 3
    assert f"note: {trees}: 1 repeated sentence with another tree or other heads; the first analysis votes" in err
