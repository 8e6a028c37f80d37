"""From plain words to trees: a checkpoint, a decoder, and sentences in and out in the same order."""
