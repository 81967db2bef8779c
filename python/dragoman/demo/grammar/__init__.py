"""A bilingual grammar of German and English: sentence pairs with real words and real syntax, as many as one likes."""

from dragoman.demo.grammar.sentences import Domain, Sentences

__all__ = ["Domain", "Sentences"]
