-- Puts a job on the list for people, once.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from what stands there to its bytes
-- ARGV[1]  the job
-- ARGV[2]  its dead letter
--
-- Returns  1 if the list changed, else 0

local dead, index, job, letter = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

-- An index without a list is what a person leaves who deletes the list. All jobs come again then. Without one there is no
-- write here: the first write of a script decides whether a full server refuses it, and new letters are to be refused.
local length = redis.call('LLEN', dead)
if length == 0 and redis.call('EXISTS', index) == 1 then redis.call('UNLINK', index) end

-- What the index names and the list doesn't hold, a person took off. It stays off.
local old = redis.call('HGET', index, job)
if old == letter then return 0 end

if old then
  local at = redis.call('LPOS', dead, old)
  if at then
    redis.call('LSET', dead, at, letter)
    redis.call('HSET', index, job, letter)
    return 1
  end
end

-- A list that is longer than its index holds what the index doesn't name. Only then is a new letter looked for.
local there = length > redis.call('HLEN', index) and redis.call('LPOS', dead, letter)
if not there then redis.call('RPUSH', dead, letter) end
redis.call('HSET', index, job, letter)
return there and 0 or 1
