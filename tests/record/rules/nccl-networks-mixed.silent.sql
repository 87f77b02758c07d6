-- absent: nccl-networks-mixed
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/host', 'node1', 'network', NULL, 'IB'),
    ('nccl/host', 'node2', 'network', NULL, 'IB'),
    ('nccl/host', 'node1', 'ib_devices', 8, NULL),
    ('nccl/host', 'node2', 'ib_devices', 8, NULL);
