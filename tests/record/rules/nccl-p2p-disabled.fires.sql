-- finding: warning nccl-p2p-disabled
-- says: unset NCCL_P2P_DISABLE
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_shm', 4, NULL),
    ('nccl/env', 'NCCL_P2P_DISABLE', 'value', NULL, '1');
