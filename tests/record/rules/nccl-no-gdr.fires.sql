-- finding: warning nccl-no-gdr
-- says: 8 of 8
-- says: nvidia_peermem
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_staged', 8, NULL),
    ('nccl/host', 'a', 'channels_staged', 4, NULL),
    ('nccl/host', 'b', 'channels_staged', 4, NULL);
