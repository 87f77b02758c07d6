-- finding: warning nccl-networks-mixed
-- says: 7 RDMA devices on node3
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/host', 'node1', 'network', NULL, 'IB'),
    ('nccl/host', 'node2', 'network', NULL, 'IB'),
    ('nccl/host', 'node3', 'network', NULL, 'IB'),
    ('nccl/host', 'node1', 'ib_devices', 8, NULL),
    ('nccl/host', 'node2', 'ib_devices', 8, NULL),
    ('nccl/host', 'node3', 'ib_devices', 7, NULL),
    ('nccl/host', 'node3', 'roce_devices', 0, NULL);
