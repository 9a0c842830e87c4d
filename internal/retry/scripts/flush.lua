-- Puts parked entries, and those whose lease has ended, back on the list, for workers that read the list themselves.
--
-- KEYS[1]  the list that producers append to
-- KEYS[2]  parked entries, by due time in milliseconds
-- KEYS[3]  leased entries, by the end of the lease in milliseconds
-- ARGV[1]  how many entries to move at most; a few hundred, since they are handled as one
-- ARGV[2]  length of a lease, in milliseconds
--
-- Returns  how many entries were moved

local list, parked, leased = KEYS[1], KEYS[2], KEYS[3]
local limit, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local function ms(n) return string.format('%.0f', n) end

-- This removes nothing. But a script that has written may go on writing on a server that is full.
redis.call('ZREMRANGEBYRANK', leased, 1, 0)

local moved = redis.call('ZRANGE', parked, 0, limit - 1)
if #moved > 0 then
  redis.call('RPUSH', list, unpack(moved))
  redis.call('ZREM', parked, unpack(moved))
end
if #moved == limit then return limit end

-- A lease that ends later than any does from now was made before the clock went back, or damaged.
for _, raw in ipairs(redis.call('ZRANGEBYSCORE', leased, '(' .. ms(now + lease), '+inf', 'LIMIT', 0, limit)) do
  redis.call('ZADD', leased, ms(now + lease), raw)
end
local ended = redis.call('ZRANGEBYSCORE', leased, '-inf', ms(now), 'LIMIT', 0, limit - #moved)
if #ended > 0 then
  redis.call('RPUSH', list, unpack(ended))
  redis.call('ZREM', leased, unpack(ended))
end
return #moved + #ended
