-- finding: warning nccl-socket-fallback
-- first: nccl-socket-fallback
-- says: rdma-core
-- says: libibverbs is missing
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'network', NULL, 'Socket'),
    ('nccl', '', 'network_kind', NULL, 'socket'),
    ('nccl', '', 'channels_socket', 8, NULL),
    ('nccl/host', 'a', 'network', NULL, 'Socket'),
    ('nccl/host', 'a', 'verbs_missing', 1, NULL),
    ('nccl/host', 'b', 'network', NULL, 'Socket'),
    ('nccl/host', 'b', 'verbs_missing', 1, NULL);
