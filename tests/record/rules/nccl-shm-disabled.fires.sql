-- finding: warning nccl-shm-disabled
-- says: 6 pairs
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'peers_far', 6, NULL),
    ('nccl/env', 'NCCL_P2P_DISABLE', 'value', NULL, '1'),
    ('nccl/env', 'NCCL_SHM_DISABLE', 'value', NULL, '1');
