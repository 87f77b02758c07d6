-- SPDX-License-Identifier: MIT
-- id: ib-pkey
-- for: check
-- severity: warning
-- title: {port} is not a full member of any partition: its keys are {keys}
-- why: Two limited members of a partition cannot talk to each other, and 0x7fff is limited
--   membership of the default one: connections time out.
-- fix: Have the fabric manager add the port with full membership (partitions.conf of opensm,
--   =full). In Azure both machines must be in the same scale set.
-- needs: ib_port/pkeys_full
-- source: InfiniBand Architecture 10.9; Azure/azurehpc-health-checks
SELECT subject AS "port @/sys/class/infiniband", pkeys AS "keys", pkeys_full AS "full [count]"
FROM ib_port WHERE link_layer = 'InfiniBand' AND active = 1 AND pkeys_full = 0;
