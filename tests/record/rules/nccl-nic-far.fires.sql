-- finding: warning nccl-nic-far
-- says: on node1
-- says: between sockets
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_net', 8, NULL),
    ('nccl/host', 'node1', 'path_net', NULL, 'SYS'),
    ('nccl/host', 'node1', 'network_kind', NULL, 'ib'),
    ('nccl/host', 'node2', 'path_net', NULL, 'PIX');
