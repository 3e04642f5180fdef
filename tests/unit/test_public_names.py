import blowfish_privacy as bp

PROMISED = {
    *("Domain", "Integer", "Categorical", "Binned", "Policy", "Session", "Counts", "sensitivity", "load"),
    *("FullDomain", "Attributes", "Partition", "DistanceThreshold", "ExplicitGraph", "PerAttribute", "Public"),
    *("KnownCount", "KnownMarginal", "Histogram", "Cumulative", "Sum", "Mean", "Linear", "Synthetic", "BlowfishError"),
}


def test_every_promised_name_is_there_and_every_name_is_listed():
    assert not PROMISED - set(bp.__all__)
    for name in set(bp.__all__) - {"__version__"}:
        assert getattr(bp, name).__name__ == name
    assert set(bp.__all__) <= set(dir(bp))


def test_every_error_is_ours_and_has_an_exit_code():
    errors = [getattr(bp, name) for name in bp.__all__ if name.endswith("Error")]
    assert all(issubclass(error, bp.BlowfishError) and error.exit_code in (2, 3, 4, 5) for error in errors)
    assert len(errors) == 9
    assert str(bp.SpecError("wrong.", hint="do this.")) == "wrong. Hint: do this."
