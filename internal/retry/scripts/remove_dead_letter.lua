-- Takes a job off the list for people.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from job to entry
-- ARGV[1]  job
--
-- Returns  how many entries were taken off

local old = redis.call('HGET', KEYS[2], ARGV[1])
if not old then return 0 end
local removed = redis.call('LREM', KEYS[1], 1, old)
redis.call('HDEL', KEYS[2], ARGV[1])
return removed
