-- absent: nccl-timeout
-- Without an operation nothing is said.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/timeout', '0', 'sequence', 42, NULL);
