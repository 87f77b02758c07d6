-- SPDX-License-Identifier: MIT
-- id: nccl-networks-mixed
-- for: check report
-- severity: warning
-- title: The hosts do not use the same network{_what}
-- why: {_how}. The slowest of them sets the pace for all.
-- fix: Compare {host} with the others: gpufeed check there shows ports that are down and devices
--   that are missing or filtered
-- first: Put all hosts on the same network
-- needs: nccl/lines
-- scenario: none
-- source: doc/rules.md#nccl-networks-mixed
WITH network AS (
    SELECT text AS uses, min(subject) AS host, count(*) AS hosts, min(source) AS source, 1 AS place
    FROM fact WHERE kind = 'nccl/host' AND name = 'network' GROUP BY text),
device AS (
    SELECT printf('%d RDMA devices', n) AS uses, min(subject) AS host, count(*) AS hosts,
           min(source) AS source, 2 AS place
    FROM (SELECT subject, sum(number) AS n, min(source) AS source FROM fact
          WHERE kind = 'nccl/host' AND name IN ('ib_devices', 'roce_devices') GROUP BY subject)
    GROUP BY n),
each AS (SELECT * FROM network UNION ALL SELECT * FROM device)
SELECT a.host AS "host",
       a.uses AS "uses @NCCL log",
       b.uses AS "others use @NCCL log",
       a.source AS "said in",
       ': ' || a.uses || ' on ' || a.host AS "_what",
       printf('%d of the hosts: %s; %d: %s', a.hosts, a.uses, b.hosts, b.uses) AS "_how"
FROM each a JOIN each b ON b.place = a.place AND b.uses <> a.uses
ORDER BY a.place, a.hosts, a.uses, b.hosts DESC LIMIT 1;
