-- absent: nccl-nic-far
-- One host without network channels, and one whose channels are TCP.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_net', 8, NULL),
    ('nccl/host', 'node1', 'path_net', NULL, 'SYS'),
    ('nccl/host', 'node1', 'network_kind', NULL, 'socket'),
    ('nccl/host', 'node2', 'path_net', NULL, 'PXB');
