-- absent: nccl-versions-mixed
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'versions', 1, NULL),
    ('nccl', '', 'version', NULL, '2.21.5+cuda12.4');
