"""What a release says about a secret pair: sensitivities, losses, and the certificates that state them."""
