-- finding: critical nccl-init-unfinished
-- says: no line of rank 3, 5-7
-- first: nccl-init-unfinished
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'init_unfinished', 4, NULL),
    ('nccl', '', 'ranks', 8, NULL),
    ('nccl', '', 'ranks_absent', NULL, '3, 5-7');
