-- Puts an entry in hand back among the parked ones.
--
-- KEYS[1]  parked entries, by due time in milliseconds
-- KEYS[2]  leased entries
-- ARGV[1]  the entry
-- ARGV[2]  when it is due, in milliseconds
--
-- Returns  1 if it was in hand, else 0: its lease had ended

-- This removes nothing. But a script that has written may go on writing on a server that is full.
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0)
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
