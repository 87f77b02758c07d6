-- absent: nccl-shm-disabled
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'peers_far', 0, NULL),
    ('nccl', '', 'channels_p2p', 4, NULL);
