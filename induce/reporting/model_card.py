"""A model card in Markdown, with the metadata block that the Hugging Face hub reads."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import jinja2

from induce.parsing.model_parser import stored_decoder
from induce.storage.builtin import FILES, LICENSES
from induce.storage.checkpoint import Checkpoint, find, read

TEMPLATE = """\
---
library_name: synparse
{% if license %}\
license: {{ license }}
{% else %}\
license: other
license_name: state-the-license-of-the-text
{% endif %}\
tags:
- unsupervised-parsing
- grammar-induction
- {{ config.model_name }}
---

# {{ name }}

{{ kind }} of type `{{ config.model_name }}`, trained with synparse {{ checkpoint.version }} without gold trees\
{% if facts.trees %}, except {{ facts.learned_from }}{% endif %}.

```
synparse parse -m {{ file }} input.txt
```

## Training

| | |
| --- | --- |
| text | {{ texts }} |
| sentences | {{ "{:,}".format(facts.training.sentences) }} |
| {{ unit }}s | {{ "{:,}".format(facts.training.words) }} |
| digest of the text (SHA-256) | `{{ facts.training.sha256 }}` |
| tokenizer | {{ config.data.tokenization or "none: the text was tokenized" }} |
| vocabulary | {{ "{:,}".format(checkpoint.vocabulary|length) }} {{ unit }}s |
{% if facts.unknown_share is not none %}\
| unknown {{ unit }}s of the text | {{ "%.1f"|format(100 * facts.unknown_share) }} % |
{% endif %}\
| weights | {{ "{:,}".format(checkpoint.weight_count) }} |
{% if decoder %}\
| decoder | {{ decoder }} |
{% endif %}\
{% if facts.teachers %}\
| learned from | {{ facts.annotation }} of {{ facts.teachers|join(", ") }} |
{% endif %}\
| steps | {{ "{:,}".format(facts.step) }} in {{ "%.1f"|format(facts.seconds / 60) }} minutes on {{ facts.device }} |
| seed | {{ config.train.seed }} |
| preset | {{ config.preset }} ({{ config.source }}) |
{% if facts.development.sentences %}\
| development text | {{ "{:,}".format(facts.development.sentences) }} sentences |
{% endif %}\
{% if check %}\
| development {{ check.measure }} | {{ "%.4g"|format(check.development_loss if check.measure != "perplexity" \
else check.development_perplexity) }} |
{% endif %}\
{% for line in direction %}\
| {{ line.partition(": ")[0] }} | {{ line.partition(": ")[2] }} |
{% endfor %}
## Scores

Unlabeled F1 is not known from training, which sees no gold trees. Score the model on a treebank, and copy the line with
its signature here:

```
synparse eval --gold treebank.ptb -m {{ file }} --baseline right --baseline oracle
```

## Limits

- The trees are learned from the distribution of words. They are not those of a linguistic theory, and their labels, if
  there are any, have no names.
- The model has seen one text. On other domains and on unknown words, its trees are worse.
- Compare with trivial baselines before you draw a conclusion from the trees.

## Settings

```
{% for line in settings %}{{ line }}
{% endfor %}```
"""


def model_card(run: Path) -> str:
    """The card of the model in the file or folder ``run``. Raises SynparseError if there is no model."""
    path = find(run)
    checkpoint: Checkpoint = read(path)
    config, facts = checkpoint.config, checkpoint.facts
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(TEMPLATE).render(
        name=run.stem,
        file=run.name,
        license=next((LICENSES[name] for name, builtin in FILES.items() if builtin == path), None),
        kind="Parser of dependency heads" if config.parse.head_style else "Parser",
        checkpoint=checkpoint,
        config=config,
        facts=facts,
        texts=", ".join(Path(path).name for path in facts.sources) or "the built-in sample, which a grammar generated",
        unit=config.data.token,
        check=facts.history[-1] if facts.history else None,
        settings=[*chain(*checkpoint.settings())],
        decoder=stored_decoder(checkpoint),
        direction=(facts.direction.lines()[0], facts.direction.evidence()) if facts.direction else (),
    )
