-- Puts an entry in hand back among the parked ones.
--
-- KEYS[1]  parked entries, a sorted set by due time in milliseconds
-- KEYS[2]  leased entries
-- ARGV[1]  the entry
-- ARGV[2]  when it is due, in milliseconds
--
-- Returns  1

redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
