-- Moves an entry that can't be decoded to the dead letters.
--
-- KEYS[1]  dead letters
-- KEYS[2]  index of the dead letters, a hash from what stands there to its bytes
-- KEYS[3]  leased entries
-- ARGV[1]  the entry
-- ARGV[2]  its field in the index
-- ARGV[3]  what stands for it among the dead letters
--
-- Returns  1 if it was added to the dead letters, 0 if it lay there already

local dead, index, leased = KEYS[1], KEYS[2], KEYS[3]

-- This removes nothing. But a script that has written may go on writing on a server that is full, where an entry that
-- can't be set aside would come back for ever.
redis.call('ZREMRANGEBYRANK', leased, 1, 0)

-- An index without a list is what a person leaves who deletes the list.
if redis.call('LLEN', dead) == 0 then redis.call('UNLINK', index) end

-- These bytes exist nowhere else once they are buried. So the index is not enough: they are looked for, the latest first.
local there = redis.call('HGET', index, ARGV[2])
if there then there = redis.call('LPOS', dead, there, 'RANK', -1) end
if not there then
  redis.call('RPUSH', dead, ARGV[3])
  redis.call('HSET', index, ARGV[2], ARGV[3])
end
redis.call('ZREM', leased, ARGV[1])
return there and 0 or 1
