-- absent: nccl-no-gdr
-- All of it is direct; TCP is another story.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'channels_gdr', 8, NULL),
    ('nccl', '', 'channels_net', 8, NULL);
