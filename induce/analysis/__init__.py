"""What a trained model holds and how well it predicts, beside its trees."""
