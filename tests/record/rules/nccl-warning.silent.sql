-- absent: nccl-warning
-- Words that follow from another failure, or that nobody knows.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/warning', 'flushed', 'count', 3, NULL),
    ('nccl/warning', 'other', 'count', 1, NULL),
    ('nccl/warning', 'memlock', 'count', 0, NULL);
