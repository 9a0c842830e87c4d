-- Moves an entry in hand to the dead letters. If it is no longer in hand, somebody else has done so.
--
-- KEYS[1]  dead letters
-- KEYS[2]  leased entries
-- ARGV[1]  the entry
-- ARGV[2]  what stands for it among the dead letters
--
-- Returns  1 if the entry was moved, 0 if it wasn't in hand

if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1
