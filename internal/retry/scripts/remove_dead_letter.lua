-- Takes a job off the list for people.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from what stands there to its bytes
-- ARGV[1]  the job
--
-- Returns  how many dead letters were taken off

local letter = redis.call('HGET', KEYS[2], ARGV[1])
if not letter then return 0 end
-- From the end, where the latest are.
local removed = redis.call('LREM', KEYS[1], -1, letter)
redis.call('HDEL', KEYS[2], ARGV[1])
return removed
