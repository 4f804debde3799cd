"""What a prompt asks and offers, for each kind of question: pure data and lines, no toolkit."""
