"""Examples of each command for its help and its manual page: what to type, and what comes of it."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "train": (
        ("synparse train corpus.txt -o mine --max-minutes 60", "an hour on your own text, one sentence a line"),
        (
            "synparse train --tokenize book.txt --model npcfg --seeds 1-3 -o family",
            "three grammars of raw text, which is split into sentences and words first",
        ),
    ),
    "transfer": (
        (
            "synparse transfer runs/craft --sketch ADC -o runs/adc",
            "a new task with the options of a model that has learned others",
        ),
        ("synparse transfer --from-scratch --sketch ADC -o runs/scratch", "the same by single actions, for comparison"),
    ),
    "prepare": (
        ("synparse prepare corpus.txt -o corpus", "read, normalise and count a large text once"),
        (
            "synparse prepare texts/ -o corpus --model udgn --tokenize",
            "the raw texts in a folder, for synparse train corpus --model udgn",
        ),
    ),
    "parse": (
        ("synparse parse -m mine input.txt > trees.txt", "a tree a line for each line of the input"),
        (
            "synparse parse -m mine --tokenize book.txt --format jsonl -o book.jsonl",
            "raw text: words, spans and places in the original, a JSON line a sentence",
        ),
    ),
    "combine": (
        ("synparse combine runs/seed-* -o voters", "an ensemble, which parse and eval take like any model"),
        (
            "synparse combine mine@weight=2 trees.txt -o voters --threshold 0.5",
            "a model that counts twice and a file of trees; only phrases that have most votes",
        ),
    ),
    "eval": (
        (
            "synparse eval -m mine --gold sample --baseline right --baseline oracle",
            "brackets of a model in the built-in treebank, beside right branching and the best binary trees",
        ),
        (
            "synparse eval --gold gold.mrg trees.txt --convention km --json",
            "the trees of any parser, one a line, counted as Klein and Manning did",
        ),
    ),
    "score": (
        ("synparse score -m mine input.txt", "log-probability, words and unknown words of each sentence"),
        ("synparse score -m mine --words input.txt", "how surprising each word is, in bits"),
    ),
    "embed": (
        ("synparse embed -m mine input.txt > vectors.jsonl", "words and a vector, a line a sentence"),
        ("synparse embed -m mine input.txt -o vectors.npz", "arrays of numpy"),
    ),
    "extract": (
        (
            "synparse extract -m mine input.txt > numbers.jsonl",
            "the distances behind the trees, a JSON line a sentence",
        ),
        ("synparse extract -m mine --layer 2 input.txt | synparse decode --decoder nary", "flat trees of layer 2"),
    ),
    "decode": (
        ("synparse decode numbers.jsonl > trees.txt", "the trees that synparse parse would have given"),
        ("synparse decode numbers.jsonl --decoder biased", "the rule of the PRPN and ON-LSTM papers"),
    ),
    "draw": (
        ("synparse draw -m mine input.txt", "trees in the terminal"),
        (
            "synparse draw -m mine --gold sample --sentences 1-5 -o trees.svg",
            "five sentences beside the treebank's trees, as a picture",
        ),
    ),
    "report": (
        ("synparse report -m mine --gold sample -o report.html", "a page with scores, curves and trees"),
        ("synparse report -m mine --text input.txt -o report.html", "without a treebank"),
    ),
    "convert": (
        (
            "synparse convert gold.mrg --strip traces --strip functions -o plain.mrg",
            "a treebank without empty elements and function tags",
        ),
        ("synparse convert gold.mrg --to conllu --head-rules collins", "heads from trees"),
    ),
    "classes": (
        ("synparse classes corpus.txt --classes 20 > classes.tsv", "class, word and count, between tabs"),
        ("synparse classes corpus.txt --endings 0", "by neighbours alone, not by last letters"),
    ),
    "analyze": (
        ("synparse analyze agreement runs/seed-* --text input.txt", "whether models find the same trees"),
        ("synparse analyze channels -m heads --gold gold.conllu", "what the channels of a UDGN have learned"),
    ),
    "analyze agreement": (
        (
            "synparse analyze agreement -m mine --baseline right --text input.txt",
            "how far a model is from right branching, without gold trees",
        ),
        (
            "synparse analyze agreement runs/seed-* --text input.txt --select best.json",
            "which model agrees most with other kinds of models",
        ),
    ),
    "analyze channels": (
        ("synparse analyze channels -m heads --gold gold.conllu", "the best channel for each relation"),
        (
            "synparse analyze channels -m heads --gold gold.conllu --minimum 10 --json",
            "all channels, for rarer relations too",
        ),
    ),
    "analyze grammar": (
        ("synparse analyze grammar -m grammar", "word classes, and what heads what"),
        ("synparse analyze grammar -m grammar corpus.txt --arcs 50", "the same, counted in its trees of a text"),
    ),
    "analyze sharpness": (
        ("synparse analyze sharpness -m mine --text input.txt", "how decided a model is, without gold trees"),
        (
            "synparse analyze sharpness -m 'runs/seed-*' --text input.txt --scores s.json",
            "whether the sharper ones have higher scores; synparse eval --json wrote these",
        ),
    ),
    "analyze boundaries": (
        ("synparse analyze boundaries -m spelling --text input.txt", "ends of words, by a model of characters"),
        ("synparse analyze boundaries -m mine --gold gold.mrg", "ends of chunks, by a model of words"),
    ),
    "analyze options": (
        ("synparse analyze options -m runs/craft", "options at work at each step of a demonstration of each task"),
        ("synparse analyze options -m runs/craft shown.txt --save steps.svg", "those of a file, drawn, too"),
    ),
    "analyze curves": (
        (
            "synparse analyze curves -m runs/adc -m runs/scratch",
            "how fast a task was learned, with options and without",
        ),
        ("synparse analyze curves -m 'runs/craft*' --save curves.svg", "drawn, too"),
    ),
    "analyze sweep": (
        ("synparse analyze sweep scores.json --setting train.seed", "one row a seed"),
        (
            "synparse analyze sweep scores.json --setting model.layers --save layers.png",
            "scores by the number of layers, drawn, too; synparse eval --json wrote them",
        ),
    ),
    "pack": (
        ("synparse pack mine -o mine.synparse", "one file, to send or to keep"),
        ("synparse pack -o mine.synparse", "of the model in ./synparse-model"),
    ),
    "cite": (
        ("synparse cite", "this tool"),
        ("synparse cite -m mine --gold wsj10 --convention km", "and all that a table of scores rests on"),
    ),
    "info": (
        ("synparse info mine", "what a model is, what it learned from, and how"),
        ("synparse info --settings onlstm", "every setting, with its meaning, default and limits"),
    ),
}
