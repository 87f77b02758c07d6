-- absent: nccl-p2p-disabled
-- Shared memory without a word in the environment: the machine may have nothing better.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_shm', 4, NULL),
    ('nccl/env', 'NCCL_P2P_DISABLE', 'value', NULL, '0');
