"""The models that are part of the package, so that sentences can be parsed before anything is trained.

They are model files like any other, and their digests are checked. ``LICENSE.md`` in the same folder names their
training text and their license. ``bench/experiments/builtin.py`` trains them.
"""

from __future__ import annotations

from pathlib import Path

NAME, HEADS, GRAMMAR = "english", "english-heads", "english-grammar"  # a model of trees, one of heads, and a grammar
FILES = {name: Path(__file__).with_name(f"{name}.safetensors") for name in (NAME, HEADS, GRAMMAR)}
ORIGINS = {
    NAME: "it learned from 568,000 tokens of general English, CC BY-SA 4.0; development perplexity 2.1",
    HEADS: "it learned from 568,000 tokens of general English, CC BY-SA 4.0; development perplexity 2.7",
    GRAMMAR: "it learned from biomedical articles, CC BY 3.0; development perplexity 464.9",
}
LICENSES = {NAME: "cc-by-sa-4.0", HEADS: "cc-by-sa-4.0", GRAMMAR: "cc-by-3.0"}  # identifiers of the Hugging Face hub
