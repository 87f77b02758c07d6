-- SPDX-License-Identifier: MIT
-- id: rdma-loss
-- for: check
-- severity: warning
-- title: {port} lost packets: {timeouts} acknowledgements timed out, {sequence} came out of sequence
-- why: RoCE sends all packets after a lost one again; a few in a thousand halve the bandwidth. {_hint}
-- fix: Set up priority flow control or ECN on hosts and switches for the traffic class that NCCL uses
--   (NCCL_IB_TC), alike on every hop: mlnx_qos -i INTERFACE shows the host's.
-- needs: ib_port/local_ack_timeout_err_rise|ib_port/packet_seq_err_rise|ib_port/out_of_sequence_rise
-- source: drivers/infiniband/hw/mlx5/counters.c; NVIDIA, Understanding mlx5 ethtool and RDMA counters
SELECT subject AS "port @/sys/class/infiniband", coalesce(max(number) FILTER (WHERE name = 'local_ack_timeout_err_rise'), 0) AS "timeouts [count] @hw_counters",
       coalesce(sum(number) FILTER (WHERE name IN ('packet_seq_err_rise', 'out_of_sequence_rise')), 0) AS "sequence [count] @hw_counters",
       max(number) FILTER (WHERE name = 'roce_adp_retrans_rise') AS "adaptive retransmissions [count] @hw_counters",
       CASE WHEN max(number) FILTER (WHERE name = 'local_ack_timeout_err_rise') > 0 THEN 'Timeouts mean that whole messages got no answer.'
            ELSE 'With adaptive routing packets overtake each other; then out of sequence alone is harmless.' END AS "_hint",
       CASE WHEN coalesce(max(number) FILTER (WHERE name = 'local_ack_timeout_err_rise'), 0) = 0 THEN 'info' END AS "severity"
FROM fact WHERE kind = 'ib_port' AND name IN ('local_ack_timeout_err_rise', 'packet_seq_err_rise', 'out_of_sequence_rise', 'roce_adp_retrans_rise')
GROUP BY subject
HAVING coalesce(max(number) FILTER (WHERE name = 'local_ack_timeout_err_rise'), 0) >= 3
  OR coalesce(sum(number) FILTER (WHERE name IN ('packet_seq_err_rise', 'out_of_sequence_rise')), 0) >= 1000;
