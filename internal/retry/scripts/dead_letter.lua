-- Puts a job on the list for people, once.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from what stands there to its bytes
-- ARGV[1]  the job
-- ARGV[2]  its dead letter
--
-- Returns  1 if the list changed, else 0

local dead, index, job, letter = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

-- A list as long as its index holds all that the index names and nothing else, unless a person edited it in a way that
-- hides it. Only a list that a person edited is walked.
local edited = redis.call('LLEN', dead) ~= redis.call('HLEN', index)
local old = redis.call('HGET', index, job)

if old == letter and not edited then return 0 end
if old and old ~= letter then
  local at = redis.call('LPOS', dead, old)
  if at then
    redis.call('LSET', dead, at, letter)
    redis.call('HSET', index, job, letter)
    return 1
  end
end
local there = edited and redis.call('LPOS', dead, letter)
if not there then redis.call('RPUSH', dead, letter) end
if old ~= letter then redis.call('HSET', index, job, letter) end
return there and 0 or 1
