-- absent: nccl-warned
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/warning', 'other', 'count', 0, NULL),
    ('nccl/warning', 'flushed', 'count', 2, NULL),
    ('nccl/warning', 'flushed', 'text', NULL, 'Got completion with error 5, opcode 1');
