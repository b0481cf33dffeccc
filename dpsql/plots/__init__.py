"""Pictures of answers, of what ε does and of disclosure risk. They draw what was released already and cost nothing.

Needs the extra: `pip install -e '.[plots]'` in a checkout. Pictures are post-processing of noisy rows; nothing here reads a
protected table. The exceptions, `samples` and `registry`, are synthetic data.
"""
