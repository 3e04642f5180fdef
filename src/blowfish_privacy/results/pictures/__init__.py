"""Pictures: functions of what is public that return a figure or its bytes, and write nothing.

Everything drawn is public: a policy, a plan, or a release that is already noisy.
"""
