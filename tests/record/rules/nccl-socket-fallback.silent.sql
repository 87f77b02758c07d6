-- absent: nccl-socket-fallback
-- One host: the network is chosen, but nothing goes over it.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'network', NULL, 'Socket'),
    ('nccl', '', 'network_kind', NULL, 'socket'),
    ('nccl', '', 'channels_p2p', 8, NULL),
    ('nccl/host', 'a', 'network', NULL, 'Socket'),
    ('nccl/host', 'a', 'no_device', 1, NULL),
    ('nccl/env', 'NCCL_IB_DISABLE', 'value', NULL, '1');
