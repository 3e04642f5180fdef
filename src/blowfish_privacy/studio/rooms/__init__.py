"""The rooms of the studio: each is a function that fills the page with what one step needs."""
