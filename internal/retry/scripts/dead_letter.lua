-- Puts a job on the list for people, once.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from job to entry
-- ARGV[1]  job
-- ARGV[2]  entry
--
-- Returns  1 if the list changed, else 0
--
-- An index without a list is what a person leaves who deletes the list; the jobs then come again.

if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
local old = redis.call('HGET', KEYS[2], ARGV[1])
if old == ARGV[2] then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if old then redis.call('LREM', KEYS[1], 1, old) end
return 1
