-- SPDX-License-Identifier: MIT
-- id: ib-no-subnet-manager
-- for: check
-- severity: warning
-- title: InfiniBand port {port} is {state}: no subnet manager has set it up
-- why: The cable works (physical state {physical}), but a port becomes ACTIVE only when a subnet
--   manager has given it an address.
-- fix: Start the subnet manager: on the switch, or systemctl start opensm on one host of the fabric.
-- needs: ib_port/state ib_port/phys_state
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband; InfiniBand Architecture 14.4
SELECT subject AS "port @/sys/class/infiniband", state AS "state", phys_state AS "physical", sm_lid AS "lid of the subnet manager [count]"
FROM ib_port WHERE link_layer = 'InfiniBand' AND phys_state = 'LinkUp' AND state IN ('INIT', 'ARMED');
