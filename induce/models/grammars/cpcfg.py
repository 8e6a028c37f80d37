"""Compound PCFG: a neural PCFG whose probabilities also depend on a vector of each sentence (Kim, Dyer & Rush 2019).

``docs/reference/models/npcfg.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols, Z numbers in a sentence's vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.full_rules import FullRules
from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.setting import limited


@dataclass(frozen=True, kw_only=True)
class CpcfgConfig(GrammarConfig):
    """Sizes of a compound PCFG, with the defaults of the paper."""

    latent_size: int = limited(64, 1, 100_000, "size of the vector of a sentence")
    encoder_size: int = limited(
        512, 1, 100_000, "units of a word embedding and of each direction of the encoder's LSTM"
    )


class CompoundPcfg(Grammar):
    """Compound PCFG: z ~ N(0, I) for each sentence, and every rule is a network of its symbol and z.

    Training maximizes the evidence lower bound with one sample of q(z | sentence) = N(mean, variance). Parsing and
    log-probabilities use the mean. The likelihood given z is summed over all trees exactly.
    """

    Config = CpcfgConfig
    shares_rules = False

    def __init__(self, config: CpcfgConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, latent = config.embedding_size, config.latent_size
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, size))
        self.root = perceptron(size + latent, size, config.nonterminals)
        self.rules = nn.Linear(size + latent, (config.nonterminals + config.preterminals) ** 2)
        self.words = perceptron(size + latent, size, vocabulary_size)
        self.embedding = nn.Embedding(vocabulary_size, config.encoder_size)
        self.encoder = nn.LSTM(config.encoder_size, config.encoder_size, bidirectional=True, batch_first=True)
        self.latent = nn.Linear(2 * config.encoder_size, 2 * latent)
        spread_weights(self)

    def posterior(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance (B, Z) of q(z | sentence): the LSTM's maxima over words."""
        outputs, _ = self.encoder(self.embedding(tokens))
        mean, log_variance = self.latent(outputs.amax(1)).chunk(2, -1)
        return mean, log_variance

    def tables(self, tokens: Tensor) -> Tables:
        """A grammar for each sentence, and the divergence KL(q || N(0, I)) (B,)."""
        mean, log_variance = self.posterior(tokens)
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)
        z = mean + (log_variance / 2).exp() * torch.randn_like(mean) if self.training else mean
        return self._tables_of(z)._replace(divergence=divergence)

    def draw_tables(self, generator: torch.Generator) -> Tables:
        """Grammar of one sentence, whose vector is drawn from N(0, I)."""
        tables = self._tables_of(torch.randn(1, self.config.latent_size, generator=generator))
        return Tables(tables.emissions[0], type(tables.rules)(*(part[0] for part in tables.rules)))

    def _tables_of(self, z: Tensor) -> Tables:
        """A grammar for each vector ``z`` (B, Z)."""
        symbols = self.config.nonterminals + self.config.preterminals
        root = self.root(_concatenate_pairs(self.start, z))[:, 0].softmax(-1)
        rules = self.rules(_concatenate_pairs(self.nonterminal, z)).softmax(-1)
        words = self.words(_concatenate_pairs(self.preterminal, z)).log_softmax(-1)  # (B, T, V)
        shaped = rules.view(len(z), self.config.nonterminals, symbols, symbols)
        return Tables(words.transpose(1, 2), FullRules(root, shaped))


def _concatenate_pairs(symbols: Tensor, z: Tensor) -> Tensor:
    """Concatenation of each symbol's embedding (K, E) with each sentence's vector (B, Z): (B, K, E + Z)."""
    rows = (len(z), len(symbols), -1)
    return torch.cat([symbols[None].expand(rows), z[:, None].expand(rows)], -1)
