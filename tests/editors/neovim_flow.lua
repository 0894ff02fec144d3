-- nvim --headless --clean -l neovim_flow.lua PLUGIN PROJECT: prints what was seen as one line of JSON.
local plugin, project = arg[1], arg[2]
local PATIENCE = 30000

local function fail(what)
  io.stderr:write(what .. '\n')
  os.exit(1)
end

local function wait(what, condition)
  if not vim.wait(PATIENCE, condition, 20) then
    fail('waited in vain for ' .. what)
  end
end

local seen = {}
vim.opt.runtimepath:append(plugin)
vim.lsp.enable('remat_lint')
vim.cmd.edit(project .. '/demo.py')
vim.bo.filetype = 'python'
wait('diagnostics', function() return #vim.diagnostic.get(0) > 0 end)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local found = vim.diagnostic.get(0)[1]
seen.code, seen.source, seen.encoding = found.code, found.source, client.offset_encoding

vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col + 4 })
local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
seen.hover = client:request_sync('textDocument/hover', place, PATIENCE, 0).result.contents.value

vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.kind == 'quickfix' end })
wait('the fix', function() return vim.fn.search('functools.partial', 'nw') > 0 end)
seen.fixed = vim.fn.getline(vim.fn.search('functools.partial', 'nw'))
wait('the diagnostics to go', function() return #vim.diagnostic.get(0) == 0 end)
seen.left = #vim.diagnostic.get(0)
vim.cmd.write()

-- The site behind the emoji; the server counts in the client's units.
local row = vim.fn.search('mark =', 'nw')
local column = vim.fn.getline(row):find('jax.checkpoint', 1, true)
vim.api.nvim_win_set_cursor(0, { row, column })
local original = vim.api.nvim_get_current_buf()
seen.tests = {}
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action)
    local wanted = action.kind == 'refactor.rewrite.remat-lint'
    if wanted then
      table.insert(seen.tests, action.title)
    end
    return wanted
  end,
})
local function generated()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buffer)
    if buffer ~= original and vim.fs.basename(name):match('^test_.*%.py$') then
      return buffer, name
    end
  end
end
wait('the generated test', function() return generated() ~= nil end)
local buffer, name = generated()
wait('its text', function() return vim.api.nvim_buf_line_count(buffer) > 3 end)
vim.fn.mkdir(vim.fs.dirname(name), 'p')
vim.api.nvim_buf_call(buffer, function() vim.cmd.write({ bang = true }) end)
seen.generated = name

client:stop()
wait('the end of the server', function() return client:is_stopped() end)
print('\n' .. vim.json.encode(seen))
vim.cmd('qa!')
