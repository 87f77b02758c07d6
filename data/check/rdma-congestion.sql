-- SPDX-License-Identifier: MIT
-- id: rdma-congestion
-- for: check
-- severity: info
-- title: {port} was told {times} times to slow down (congestion)
-- why: Switches on the way marked packets (ECN) and the receiver sent congestion notifications:
--   several senders share one link, or a receiver is slow.
-- fix: Spread the job over fewer switches, or enable adaptive routing; if it is always the same
--   receiver, look there for the slow part.
-- needs: ib_port/rp_cnp_handled_rise
-- source: drivers/infiniband/hw/mlx5/counters.c: rp_cnp_handled
SELECT f.subject AS "port @/sys/class/infiniband", f.number AS "times [count] @hw_counters/rp_cnp_handled"
FROM fact f WHERE f.kind = 'ib_port' AND f.name = 'rp_cnp_handled_rise' AND f.number >= 10000;
