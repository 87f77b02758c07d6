-- finding: critical nccl-timeout
-- says: ALLREDUCE number 42, on rank 0, 1
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/timeout', '0', 'sequence', 42, NULL),
    ('nccl/timeout', '0', 'operation', NULL, 'ALLREDUCE'),
    ('nccl/timeout', '0', 'seconds', 1800, NULL),
    ('nccl/timeout', '1', 'sequence', 42, NULL),
    ('nccl/timeout', '1', 'operation', NULL, 'ALLREDUCE'),
    ('nccl/timeout', '1', 'seconds', 1800, NULL);
