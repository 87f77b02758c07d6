-- finding: info nccl-warned
-- says: NCCL warned 3 times
-- says: Accept failed
-- says: Weird thing
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/warning', 'other', 'count', 3, NULL),
    ('nccl/warning', 'other', 'text', NULL, 'Accept failed'),
    ('nccl/warning', 'other', 'text2', NULL, 'Weird thing');
