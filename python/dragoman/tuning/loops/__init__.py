"""Ways to go through a text again and again with a decoder: rounds, streams of batches, shards, chains."""
