//===- Arrays.cpp -----------------------------------------------------------------===//
#include "Arrays.h"

#include <xtensor/xnpy.hpp>
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

using namespace moe_run;

int64_t Array::elements() const {
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return n;
}

std::string Array::shapeText() const {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

/// Column-major to row-major.
static std::vector<uint8_t> transposed(const char *from, const std::vector<int64_t> &shape, size_t element, size_t n) {
  std::vector<uint8_t> to(n * element);
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    size_t offset = 0;
    for (size_t d = shape.size(); d-- > 0;)
      offset = offset * size_t(shape[d]) + size_t(index[d]);
    std::memcpy(to.data() + i * element, from + offset * element, element);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return to;
}

/// xtensor takes the header on trust, and reads the two bytes of its length as signed numbers. So the header must look
/// like one that NumPy writes, with no more elements than the file has bytes, and spaces before its newline bring the
/// lower byte of the length below 128.
static void makeHeaderReadable(const std::string &what, std::string &content) {
  constexpr size_t kBegin = 10;
  if (content.size() < kBegin || content.compare(0, 6, "\x93NUMPY") != 0)
    throw Error(what + " is not an .npy file");
  if (content[6] != 1)
    throw Error(what + " has .npy format version " + std::to_string(int(content[6])) + "; only version 1 is read");
  size_t low = uint8_t(content[8]), high = uint8_t(content[9]), length = low + 256 * high;
  if (length == 0 || content.size() - kBegin < length)
    throw Error(what + " is truncated");
  std::string text = content.substr(kBegin, length);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  static const std::regex form(
      R"(\{'descr':'[^'0-9]{0,2}\d{1,2}','fortran_order':(?:True|False),'shape':\(((?:\d{1,18},)*\d{0,18})\),?\}\n)");
  std::smatch match;
  // A long text would exhaust the stack of std::regex_match.
  if (text.size() > 500 || !std::regex_match(text, match, form))
    throw Error(what + " has a header of a form that is not supported");
  std::istringstream sizes(match[1]);
  size_t elements = 1;
  for (std::string size; std::getline(sizes, size, ',');)
    if (__builtin_mul_overflow(elements, std::stoull(size), &elements))
      throw Error(what + " has a shape that passes 64 bits");
  if (elements > content.size())
    throw Error(what + " is truncated");
  if (low >= 128) {
    content.insert(kBegin + length - 1, 256 - low, ' ');
    content[8] = 0;
    content[9] = char(++high);
  }
  if (high >= 128)
    throw Error(what + " has a header of " + std::to_string(length) + " bytes, which is too long");
}

/// `what` names the file and member in errors.
static Array parseNpy(const std::string &what, std::string content) try {
  makeHeaderReadable(what, content);
  std::istringstream stream(content);
  xt::detail::npy_file file = xt::detail::load_npy_file(stream);
  Array array;
  size_t n = 1;
  for (size_t size : file.m_shape) {
    n *= size;
    array.shape.push_back(int64_t(size));
  }
  if (!stream || size_t(stream.gcount()) != n * file.m_word_size)
    throw Error(what + " is truncated");
  if (file.m_typestring[0] == '>')
    throw Error(what + " has big-endian elements (" + file.m_typestring + "), which are not supported");
  array.type = file.m_typestring.substr(1);
  if (file.m_fortran_order)
    array.bytes = transposed(file.ptr(), array.shape, file.m_word_size, n);
  else
    array.bytes.assign(file.ptr(), file.ptr() + n * file.m_word_size);
  return array;
} catch (const Error &) {
  throw;
} catch (const std::exception &error) {
  throw Error(what + " cannot be read: " + error.what());
}

Array moe_run::readNpy(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  if (!stream || !(content << stream.rdbuf()))
    throw Error("cannot read '" + path + "': " + std::strerror(errno));
  return parseNpy("'" + path + "'", content.str());
}

std::map<std::string, Array> moe_run::readNpz(const std::string &path) {
  int code = 0;
  std::unique_ptr<zip_t, void (*)(zip_t *)> archive(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string message = "cannot open '" + path + "': " + zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(message);
  }
  std::map<std::string, Array> arrays;
  zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), zip_uint64_t(i), 0, &stat) || !(stat.valid & ZIP_STAT_NAME) ||
        !(stat.valid & ZIP_STAT_SIZE))
      throw Error("cannot read the list of '" + path + "': " + zip_strerror(archive.get()));
    std::string name = stat.name;
    std::string what = "'" + name + "' of '" + path + "'";
    std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> member(zip_fopen_index(archive.get(), zip_uint64_t(i), 0),
                                                              zip_fclose);
    if (!member)
      throw Error("cannot open " + what + ": " + zip_strerror(archive.get()));
    // Read in pieces: the size in the list may be a lie.
    std::string content;
    char piece[1 << 16];
    zip_int64_t n;
    while ((n = zip_fread(member.get(), piece, sizeof(piece))) > 0)
      content.append(piece, size_t(n));
    if (n < 0 || content.size() != stat.size)
      throw Error("cannot read " + what + ": " + zip_file_strerror(member.get()));
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    arrays[name] = parseNpy(what, std::move(content));
  }
  return arrays;
}

void moe_run::writeNpz(const std::string &path, const std::vector<std::pair<std::string, Array>> &arrays) {
  // libzip writes a temporary file that takes the name, which must not be that of a device or a pipe.
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    throw Error("cannot write '" + path + "': it is there and no regular file");
  std::vector<std::string> contents; // libzip reads them when the archive is closed
  for (const auto &[name, array] : arrays) {
    std::ostringstream stream;
    char order = array.type.back() == '1' ? '|' : '<';
    xt::detail::write_header(stream, order + array.type, /*fortran_order=*/false, array.shape);
    stream.write(reinterpret_cast<const char *>(array.bytes.data()), std::streamsize(array.bytes.size()));
    contents.push_back(stream.str());
  }
  int code = 0;
  std::unique_ptr<zip_t, void (*)(zip_t *)> archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code),
                                                    zip_discard);
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string message = "cannot write '" + path + "': " + zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(message);
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    std::string member = arrays[i].first + ".npy";
    zip_source_t *source = zip_source_buffer(archive.get(), contents[i].data(), contents[i].size(), 0);
    zip_int64_t index = source ? zip_file_add(archive.get(), member.c_str(), source, 0) : -1;
    if (index < 0) {
      zip_source_free(source);
      throw Error("cannot write '" + member + "' to '" + path + "': " + zip_strerror(archive.get()));
    }
    zip_set_file_compression(archive.get(), zip_uint64_t(index), ZIP_CM_STORE, 0);
  }
  zip_t *closing = archive.release();
  if (zip_close(closing)) {
    std::string message = "cannot write '" + path + "': " + zip_strerror(closing);
    zip_discard(closing);
    throw Error(message);
  }
}
